"""Everything that happened in a session, tick by tick: recorder and trace."""

"""Everything that happened in a session, tick by tick: recorder, trace, and what is measured."""

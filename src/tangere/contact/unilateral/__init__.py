"""The contact problem of rigid and soft bodies: what the signorini and the penalty step share."""

"""The servo side: device, coupling, tool and safety, a thousand times a second."""

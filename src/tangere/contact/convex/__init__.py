"""Contacts of convex parts, polyhedral or curved: where they meet, and the patch between them."""

"""The contact-volume method of Hasegawa and Sato."""

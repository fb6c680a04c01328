"""Where jobs run: they get rendered files, and answer what became of them."""

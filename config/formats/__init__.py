"""Django's FORMAT_MODULE_PATH: one package a language."""

"""The API in stock Django REST framework: its documentation's way, everything at its default."""

"""The demo: four workspaces with documents, recipients, PDFs and people, all made up.

Needs packages of requirements-dev.txt that draw PDFs.
"""

from documents.demo.cast import ACME, PEOPLE, TENANTS, Person, Tenant
from documents.demo.loading import load, wanted

__all__ = ["ACME", "PEOPLE", "TENANTS", "Person", "Tenant", "load", "wanted"]

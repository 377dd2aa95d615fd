"""The demo: four made-up workspaces with documents, recipients, PDFs and users."""

from documents.demo.loading import load, wanted
from documents.demo.people import ACME, PEOPLE, TENANTS, Tenant

__all__ = ["ACME", "PEOPLE", "TENANTS", "Tenant", "load", "wanted"]

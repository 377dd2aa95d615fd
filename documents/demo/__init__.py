"""The demo: four made-up workspaces with documents, recipients, PDFs and users."""

from documents.demo.cast import ACME, PEOPLE, TENANTS, Tenant
from documents.demo.loading import load, wanted

__all__ = ["ACME", "PEOPLE", "TENANTS", "Tenant", "load", "wanted"]

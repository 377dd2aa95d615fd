"""A client of the Workspace Document Read API.

```python
import dtd

with dtd.Client() as client:  # reads DTD_API_KEY and DTD_BASE_URL
    for document in client.documents(status="COMPLETED"):
        print(document.completed_at, document.title)
```
"""

from dtd import errors, models, webhooks
from dtd.client import Client
from dtd.errors import APIError, Error

__all__ = ["APIError", "Client", "Error", "errors", "models", "webhooks"]

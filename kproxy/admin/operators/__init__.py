"""What operators do through the admin port: asked for in `requests`, done in `performance`, served by `routes`."""

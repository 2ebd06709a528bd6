"""What lies in deploy/ is read here for what no schema says; `make deploy-checks` asks the tools."""

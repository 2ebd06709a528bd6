"""What a scrape of Prometheus is answered with, however much there is to tell."""

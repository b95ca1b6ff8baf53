"""What was decided: pure functions from requests to frozen plans; every decision can say why."""

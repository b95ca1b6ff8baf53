"""Who is told, and what is watched: topic, alarms and dashboard."""

"""Rules over CloudFormation templates of training infrastructure: template view, rules, reports, and their doors."""

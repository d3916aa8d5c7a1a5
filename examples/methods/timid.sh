#!/bin/sh
# An auditor in shell: it calls every SAFE entry stale, as a floor that any
# method has to beat.
while read -r request; do
	printf '%s' "$request" | grep -o '"memory_id":"[^"]*","text":"[A-Z]*' |
		sed 's/"text":"SAFE/"verdict":"stale"}/; s/"text":"DANGER/"verdict":"valid"}/; s/^/{/' |
		paste -sd, - | sed 's/^/{"method":"timid 1","judgments":[/; s/$/]}/'
done

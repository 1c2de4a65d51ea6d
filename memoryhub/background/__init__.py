"""Work in the background of a server process: the tasks, their runner and the sending of webhooks."""

"""People's comments: the conversations beside a text, and the page of each."""

"""More than two languages: what their pairwise maps say of each other, and one space for all."""

"""calque carries word meaning from one embedding space to another, with no dictionary at all."""

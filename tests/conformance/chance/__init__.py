"""What members of a share group do by chance: steps that hypothesis chooses, played alike at every target.

`steps` says what there is to do, `strategies` which steps follow each other, `script` does them.
"""

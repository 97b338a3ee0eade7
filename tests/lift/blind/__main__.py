"""`python -m lift.blind`, in the folder of the tests: records anew what does not lift or lower, judgements kept."""

from lift.blind.records import FOLDER, Records, outcome, read, write
from sources import read_sources

found = Records()
for source in read_sources(FOLDER):
    section, report = outcome(source)
    if section:
        found.entries[section][str(source)] = report
write(found, read())

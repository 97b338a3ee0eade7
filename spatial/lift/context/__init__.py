"""What an execution holds, and what it evaluates: variables, sources, guards, loops under way.

facts, state             what a spec declares; variables, and the refusal
changes, survey          what a body may change; what is noted of a program that is refused
spent                    how many statements an execution may run
flat, accesses           tables of several axes read as one sequence; the proof that an access is in range
writes                   one more piece over a tensor
machine                  all of it together
expressions              the language's expressions
loops, trips             a loop's record, who runs its body, and how often
"""

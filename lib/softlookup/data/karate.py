"""Who met whom outside a karate club, and on which side each stood when the club split.

Zachary watched the club at a university from 1970 to 1972. Its instructor and its president fell
out over the price of the lessons, and the club split in two. An edge joins two members who met
outside the lessons and the meetings of the club.
"""

KARATE_EDGES = (
    (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7), (0, 8), (0, 10), (0, 11), (0, 12),
    (0, 13), (0, 17), (0, 19), (0, 21), (0, 31), (1, 2), (1, 3), (1, 7), (1, 13), (1, 17), (1, 19),
    (1, 21), (1, 30), (2, 3), (2, 7), (2, 8), (2, 9), (2, 13), (2, 27), (2, 28), (2, 32), (3, 7),
    (3, 12), (3, 13), (4, 6), (4, 10), (5, 6), (5, 10), (5, 16), (6, 16), (8, 30), (8, 32), (8, 33),
    (9, 33), (13, 33), (14, 32), (14, 33), (15, 32), (15, 33), (18, 32), (18, 33), (19, 33),
    (20, 32), (20, 33), (22, 32), (22, 33), (23, 25), (23, 27), (23, 29), (23, 32), (23, 33),
    (24, 25), (24, 27), (24, 31), (25, 31), (26, 29), (26, 33), (27, 33), (28, 31), (28, 33),
    (29, 32), (29, 33), (30, 32), (30, 33), (31, 32), (31, 33), (32, 33),
)  # fmt: skip
"""Pairs of the 34 members, counted from 0: the instructor is 0, the president is 33.

Source: Zachary 1977, figure 1 and its matrix. Chapter: data_card#the-karate-club
"""

KARATE_INSTRUCTOR_SIDE = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21)
"""The 17 members who followed the instructor into the new club; the other 17 stayed.

Source: Zachary 1977, table 3. Chapter: data_card#the-karate-club
"""

KARATE_PLACES = (
    (0.2, -1.6), (-0.67, -1.35), (-0.09, -0.58), (-0.3, -1.55), (0.98, -2.09), (1.22, -2.37),
    (1.52, -1.79), (-1.1, -1.42), (-0.74, -0.5), (0.13, 0.24), (0.6, -2.66), (0.08, -2.84),
    (-1.09, -2.27), (0.28, -0.76), (-0.41, 1.66), (-1.19, 1.3), (2.2, -2.75), (-0.78, -2.44),
    (-1.45, 0.97), (-0.45, -0.64), (-0.83, 1.54), (-0.36, -2.48), (-1.59, 0.59), (0.76, 1.13),
    (1.88, -0.2), (1.77, 0.5), (0.53, 1.79), (0.9, 0.24), (0.56, 0.37), (0.06, 1.5), (-1.31, -0.21),
    (0.71, -0.35), (-0.58, 0.52), (-0.25, 0.59),
)  # fmt: skip
"""Where a picture of the club may put each member, as pairs (x, y).

The distances on paper are as like the numbers of steps from member to member as a plane allows:
gradient descent has made the sum of (distance / steps - 1)² small.
Chapter: soft_lookup#optional-graphs
"""

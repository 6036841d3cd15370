"""The colours of attention weights in the browser."""

import pytest

from softlookup.show.draw import ink_on, share_colour

SHARES = [k / 10 for k in range(11)]


@pytest.mark.browser
def test_eleven_shares_have_the_colours_of_the_still_figures(functions_of):
    maths = functions_of("kit/colours.js")
    found = maths("return data.map(maths.sharePaint)", SHARES)
    colours = [share_colour(share) for share in SHARES]
    assert found == [{"background": one, "color": ink_on(one)} for one in colours]

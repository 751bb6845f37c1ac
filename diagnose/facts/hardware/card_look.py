"""A card by the look of its name, whatever the catalogue holds."""

A_CARD = r"(?:(?:NVIDIA\s+)?(?:RTX\s*)?[AHLVBT]\d{1,4}[A-Za-z]?\w{0,6}|(?:RTX\s*)?[2-5]0[6-9]0\w{0,3}|gpus?|cards?)"
# what a number stands before that counts cards
OF_CARDS = (
    rf"(?:\s*[x×*]?\s*(?:(?:working|healthy|good|free|remaining|other)\s+)?{A_CARD}\b|\s*(?:[张块个]\s*)?卡|\s*[张块])"
)

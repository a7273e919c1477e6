"""The vocabulary of the English grammar: every word it knows, and words it refuses with a reason."""

from __future__ import annotations

WEEKDAYS = {
    "monday": 0,
    "mon": 0,
    "tuesday": 1,
    "tue": 1,
    "tues": 1,
    "wednesday": 2,
    "wed": 2,
    "weds": 2,
    "thursday": 3,
    "thu": 3,
    "thur": 3,
    "thurs": 3,
    "friday": 4,
    "fri": 4,
    "saturday": 5,
    "sat": 5,
    "sunday": 6,
    "sun": 6,
}
PLURAL_WEEKDAYS = {
    f"{name}s": number
    for name, number in WEEKDAYS.items()
    if name.endswith("day") or name in ("mon", "fri", "sat", "sun")
}
WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAY_GROUPS = {
    "weekday": (0, 1, 2, 3, 4),
    "workday": (0, 1, 2, 3, 4),
    "weekend": (5, 6),
}
PLURAL_GROUPS = {f"{name}s": days for name, days in WEEKDAY_GROUPS.items()}

MONTH_NAMES = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
MONTHS = {name.lower(): number for number, name in enumerate(MONTH_NAMES, 1)}
MONTHS |= {name[:3].lower(): number for number, name in enumerate(MONTH_NAMES, 1)} | {"sept": 9}

NUMBERS = {
    word: number
    for number, word in enumerate(
        (
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ),
        1,
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
ORDINALS = {
    word: number
    for number, word in enumerate(
        (
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
            "thirteenth",
            "fourteenth",
            "fifteenth",
            "sixteenth",
            "seventeenth",
            "eighteenth",
            "nineteenth",
            "twentieth",
        ),
        1,
    )
} | {"thirtieth": 30}

# Units of time; a capital M is refused by the lexer, since it may mean minutes or months.
UNITS = {
    "second": "second",
    "seconds": "second",
    "sec": "second",
    "secs": "second",
    "s": "second",
    "minute": "minute",
    "minutes": "minute",
    "min": "minute",
    "mins": "minute",
    "m": "minute",
    "hour": "hour",
    "hours": "hour",
    "hr": "hour",
    "hrs": "hour",
    "h": "hour",
    "day": "day",
    "days": "day",
    "d": "day",
    "week": "week",
    "weeks": "week",
    "wk": "week",
    "wks": "week",
    "w": "week",
    "fortnight": "fortnight",
    "fortnights": "fortnight",
    "month": "month",
    "months": "month",
    "quarter": "quarter",
    "quarters": "quarter",
    "year": "year",
    "years": "year",
    "yr": "year",
    "yrs": "year",
}
UNIT_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
FREQUENCIES = {
    "daily": (1, "day"),
    "nightly": (1, "day"),
    "hourly": (1, "hour"),
    "weekly": (1, "week"),
    "fortnightly": (2, "week"),
    "monthly": (1, "month"),
    "quarterly": (1, "quarter"),
    "yearly": (1, "year"),
    "annually": (1, "year"),
    "minutely": (1, "minute"),
}

# Parts of the day, and the hours a bare number may mean in them.
DAY_PARTS = {
    "morning": {hour: hour for hour in range(1, 12)},
    "afternoon": {12: 12, **{hour: hour + 12 for hour in range(1, 7)}},
    "evening": {hour: hour + 12 for hour in range(4, 12)},
    "night": {hour: hour + 12 for hour in range(6, 12)},
}
PLURAL_DAY_PARTS = {f"{part}s": part for part in DAY_PARTS}

# Times with a name, by their hour.
NAMED_TIMES = {"noon": 12, "midday": 12, "midnight": 0}

# Days with a fixed date, by their words without apostrophes; longer names first.
FEASTS = {
    ("new", "years", "eve"): (12, 31),
    ("new", "years", "day"): (1, 1),
    ("christmas", "eve"): (12, 24),
    ("christmas", "day"): (12, 25),
    ("christmas",): (12, 25),
    ("xmas",): (12, 25),
    ("boxing", "day"): (12, 26),
    ("valentines", "day"): (2, 14),
    ("st", "patricks", "day"): (3, 17),
    ("saint", "patricks", "day"): (3, 17),
    ("april", "fools", "day"): (4, 1),
    ("april", "fool", "day"): (4, 1),
    ("halloween",): (10, 31),
    ("epiphany",): (1, 6),
    ("all", "saints", "day"): (11, 1),
    ("all", "souls", "day"): (11, 2),
    ("assumption", "day"): (8, 15),
    ("st", "valentines", "day"): (2, 14),
    ("saint", "valentines", "day"): (2, 14),
    ("st", "davids", "day"): (3, 1),
    ("st", "georges", "day"): (4, 23),
    ("st", "andrews", "day"): (11, 30),
    ("st", "stephens", "day"): (12, 26),
    ("burns", "night"): (1, 25),
    ("groundhog", "day"): (2, 2),
    ("international", "womens", "day"): (3, 8),
    ("pi", "day"): (3, 14),
    ("earth", "day"): (4, 22),
    ("cinco", "de", "mayo"): (5, 5),
    ("juneteenth",): (6, 19),
    ("canada", "day"): (7, 1),
    ("bastille", "day"): (7, 14),
    ("guy", "fawkes", "night"): (11, 5),
    ("bonfire", "night"): (11, 5),
    ("armistice", "day"): (11, 11),
    ("remembrance", "day"): (11, 11),
    ("veterans", "day"): (11, 11),
    ("hogmanay",): (12, 31),
}

STARTERS = ("starting", "beginning", "starts", "begins", "commencing", "effective", "start", "begin")
ENDERS = ("until", "till", "through", "thru", "ending", "ends")
EXCEPTERS = ("except", "excluding", "excepting", "skipping", "skip", "besides")

VAGUE = {
    "about": "“about” leaves the time open",
    "around": "“around” leaves the time open",
    "approximately": "“approximately” leaves the time open",
    "roughly": "“roughly” leaves the time open",
    "ish": "“-ish” leaves the time open",
    "few": "“few” is no number",
    "several": "“several” is no number",
    "some": "“some” is no number",
    "couple": "“couple” may or may not mean two",
    "sometimes": "“sometimes” is no time",
    "occasionally": "“occasionally” is no time",
    "soon": "“soon” is no time",
    "later": "“later” is no time",
    "asap": "“asap” is no time",
    "now": "“now” needs no schedule",
    "immediately": "“immediately” needs no schedule",
    "ago": "it lies in the past",
    "yesterday": "it lies in the past",
    "previous": "it lies in the past",
    "past": "it lies in the past",
    "within": "“within” is a deadline, not an instant",
    "before": "“before” is a deadline, not an instant",
    "after": "“after” is not an instant",
    "or": "“or” offers a choice, and a schedule cannot choose",
    "easter": "Easter falls on another date each year",
    "thanksgiving": "Thanksgiving is on another date each year, and in each country",
    "ramadan": "Ramadan falls on other dates each year",
    "diwali": "Diwali falls on another date each year",
    "hanukkah": "Hanukkah falls on other dates each year",
    "independence": "Independence Day is on another date in each country",
    "labor": "Labor Day is on another date in each country",
    "labour": "Labour Day is on another date in each country",
    "mothers": "Mother's Day is on another date each year, and in each country",
    "fathers": "Father's Day is on another date each year, and in each country",
    "good": "Good Friday falls on another date each year",
    "twice": "“twice” does not say when, nor whether in all or each time",
    "thrice": "“thrice” does not say when, nor whether in all or each time",
    "biweekly": "“biweekly” means twice a week to some and every two weeks to others",
    "bimonthly": "“bimonthly” means twice a month to some and every two months to others",
    "biannually": "“biannually” means twice a year to some and every two years to others",
    "biannual": "“biannual” means twice a year to some and every two years to others",
    "semimonthly": "“semimonthly” does not say on which days",
    "semiweekly": "“semiweekly” does not say on which days",
    "random": "a schedule is never random",
    "randomly": "a schedule is never random",
    "sunrise": "sunrise depends on the place and the day",
    "sunset": "sunset depends on the place and the day",
    "dawn": "dawn depends on the place and the day",
    "dusk": "dusk depends on the place and the day",
    "usually": "“usually” leaves it open",
    "early": "“early” leaves the time open",
    "late": "“late” leaves the time open",
    "mid": "“mid” leaves the time open",
    "lunchtime": "“lunchtime” is no time of day",
    "lunch": "“lunch” is no time of day",
    "breakfast": "“breakfast” is no time of day",
    "dinner": "“dinner” is no time of day",
    "eod": "“eod” is no time of day",
    "eow": "“eow” does not name a day and a time",
    "eom": "“eom” does not name a time",
    "cob": "“cob” is no time of day",
}
VAGUE_SUGGESTIONS = {
    "biweekly": ("every 2 weeks on monday at 09:00", "every monday and thursday at 09:00"),
    "bimonthly": ("on the 1st of every 2 months at 09:00", "on the 1st and 15th of each month at 09:00"),
    "biannually": ("on 1 January and 1 July at 09:00 every year", "every 2 years on 1 January at 09:00"),
    "biannual": ("on 1 January and 1 July at 09:00 every year", "every 2 years on 1 January at 09:00"),
    "twice": ("every day at 09:00 and 17:00", "every day at 09:00 for 2 times"),
    "thrice": ("every day at 08:00, 13:00 and 18:00", "every day at 09:00 for 3 times"),
    "semimonthly": ("on the 1st and 15th of each month at 09:00",),
    "semiweekly": ("every monday and thursday at 09:00",),
}

KNOWN = (
    set(WEEKDAYS)
    | set(PLURAL_WEEKDAYS)
    | set(WEEKDAY_GROUPS)
    | set(PLURAL_GROUPS)
    | set(MONTHS)
    | set(NUMBERS)
    | set(ORDINALS)
    | {unit for unit in UNITS if len(unit) > 2}
    | set(FREQUENCIES)
    | set(DAY_PARTS)
    | set(NAMED_TIMES)
    | {
        "every",
        "each",
        "other",
        "today",
        "tomorrow",
        "tonight",
        "between",
        "from",
    }
    | {"until", "starting", "except", "last", "business", "working", "holidays", "times", "weekend"}
)

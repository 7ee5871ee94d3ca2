"""What schemathesis is told about this product: who calls, which records exist, and that nobody may meet a limit."""

import atexit
import collections
import itertools
import json
import os
import re
import urllib.parse
import zlib

import jsonschema_rs
import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.core.parameters import ParameterLocation
from schemathesis.openapi.checks import RejectedPositiveData, UseAfterFree

DEFINES_AGENTS = ("POST /api/agents", "PUT /api/agents/{id}")
DEFINES_WEBHOOKS = ("POST /api/webhooks", "PATCH /api/webhooks/{id}")
TOKENS_OF_LISTS = {"continuationToken", "cursor", "next_cursor", "after"}
# What the validator reports when a schema is violated: to a request that follows the schema these are never right.
SCHEMA_RULES = {
    "additionalProperties", "anyOf", "const", "discriminator", "enum", "format", "maxItems", "maxLength",
    "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum", "not", "oneOf", "pattern",
    "propertyNames", "required", "type", "uniqueItems", "unknown_field",
}
BEYOND_SCHEMAS = {
    # A reference has the form of an id and still names nothing, or nothing any more.
    "ref",
    # A moment may be well written and over.
    "future",
    # Which event types there are is the event catalog's to say.
    "unknown_event_type",
    # Of two moments, the one called `from` comes first.
    "range",
    # What holds between fields or records, such as the currency of a payment and that of its invoice.
    "rule",
    # OpenAPI cannot bound how many parameters are sent together.
    "too_many_filters",
    # Names inside free objects, however deep: the store keeps none that holds NUL.
    "invalid_key",
    # Free objects take numbers, and a schema cannot say that they have 53 bits there too.
    "inexact_number",
}
# A rule's field is one of the events asked for, which only the event catalog knows.
FIELD_OF_RULE = re.compile(r"/field$")
CREDENTIAL_HEADERS = {"Authorization", "Cookie", "X-CSRF-Token", "X-Integration-Key"}
RECORD_ID = re.compile(r"\b([a-z]{2,4}_)[0-9A-Z]{26}\b")
IDEMPOTENCY_KEY = re.compile(r"^[\x21-\x7e]{1,255}$")

with open(os.environ["SIGNALBOX_FUZZ_CAST"], encoding="utf-8") as file:
    CAST = json.load(file)

# What stands before an id in a path → the id of a record that exists.
OWNERS = {
    **{path.split("{id}")[0]: record for path, record in CAST["records"].items()},
    **{path.split("{noteId}")[0]: note for path, note in CAST.get("notes", {}).items()},
}
SEED = os.environ["SIGNALBOX_FUZZ_SEED"]
SHARE = int(os.environ["SIGNALBOX_FUZZ_SHARE"])
MET = set()
# Paths of records that were deleted and are back.
RESTORED = set()
# What a DELETE ends and leaves to be read: a revoked key shows whose it was and what it was used for.
ENDED = re.compile(r"/api/api-keys/")
# Guessing passwords and asking for one code after the other is what their limits are for, and what this does.
GUARDED = {"POST /api/session", "POST /api/sign-in"}

# Taking turns spreads the requests over more keys than one key's limit would let through.
KEYS = itertools.cycle(CAST["keys"])
TURNS = itertools.count()
# A session that signs out is gone, so each sign-out gets one of its own.
SESSION, *SIGNING_OUT = CAST["sessions"]
SIGN_OUT = "DELETE /api/session"
# The same for client users. Their tokens go where nothing else is taken: what else they reach has tests of its own.
PORTAL_TOKEN, *PORTAL_SIGNING_OUT = CAST["portalTokens"] or [None]
PORTAL_SIGN_OUT = "DELETE /api/sessions/current"

# Which statuses each operation answered to requests with its own method.
ANSWERED = collections.defaultdict(set)


def schemes_of(operation):
    return [name for requirement in operation.definition.raw.get("security", []) for name in requirement]


@atexit.register
def write_answered():
    """Leaves for the caller what was asked, so that it can say what was not."""
    with open(os.environ["SIGNALBOX_FUZZ_ANSWERED"], "w", encoding="utf-8") as answered:
        json.dump({label: sorted(statuses) for label, statuses in ANSWERED.items()}, answered)


def session_headers(session):
    return {"Cookie": session["cookie"], "X-CSRF-Token": session["csrfToken"]}


@schemathesis.auth(refresh_interval=None)
class Credentials:
    """One of the credentials the operation declares; all of them in turn."""

    def get(self, case, context):
        schemes = schemes_of(case.operation)
        if schemes == ["portalToken"]:
            signs_out = case.operation.label == PORTAL_SIGN_OUT and PORTAL_SIGNING_OUT
            return {"Authorization": f"Bearer {PORTAL_SIGNING_OUT.pop() if signs_out else PORTAL_TOKEN}"}
        schemes = [name for name in schemes if name != "portalToken"]
        # The console can revoke keys, those of this run included; its session reaches everything it serves.
        if CAST["mount"] == "console":
            schemes = [name for name in schemes if name == "session"]
        if not schemes:
            return None
        scheme = schemes[next(TURNS) % len(schemes)]
        if scheme == "apiKey":
            return {"Authorization": f"Bearer {next(KEYS)}"}
        if scheme == "integrationKey":
            return {"X-Integration-Key": next(KEYS)}
        if case.operation.label == SIGN_OUT and SIGNING_OUT:
            return session_headers(SIGNING_OUT.pop())
        return session_headers(SESSION)

    def set(self, case, data, context):
        case.headers = {**(case.headers or {}), **data}


def with_records(schema):
    """Examples name records that exist: the ids in the document are replaced by those of the seeded ones."""
    text = json.dumps(schema)
    for shown, existing in CAST["ids"].items():
        text = text.replace(f'"{shown}"', f'"{existing}"')
    return json.loads(text)


def is_made_up(case):
    """Whether all of the request comes from the schema and follows it, none of it from earlier answers."""
    meta = case.meta
    return meta is not None and meta.phase.name.value != "stateful" and meta.generation.mode.is_positive


@schemathesis.hook
def before_call(context, case, kwargs):
    turn = next(TURNS)
    # A made-up token belongs to no list (400); most reads are to get past that.
    if turn % 4 and case.query and is_made_up(case):
        for name in TOKENS_OF_LISTS & set(case.query):
            del case.query[name]
    headers = case.headers
    if not headers:
        return
    # The same key for another request is refused (422), so every request that is otherwise right gets a fresh one.
    key = headers.get("Idempotency-Key")
    if isinstance(key, str) and IDEMPOTENCY_KEY.match(key):
        headers["Idempotency-Key"] = f"{key[:200]}-{turn}"
    # A made-up tag is never the current one (412); most changes are to get past that.
    if "If-Match" in headers and turn % 4:
        headers["If-Match"] = "*"


def path_of(response):
    return urllib.parse.urlsplit(response.request.url).path


@schemathesis.hook
def after_call(context, case, response):
    if case.method.upper() == case.operation.method.upper():
        ANSWERED[case.operation.label].add(response.status_code)
    path = path_of(response)
    if response.status_code < 300 and path.endswith("/restore"):
        RESTORED.add(path.removesuffix("/restore"))
    elif response.status_code < 300 and case.method.upper() == "DELETE":
        RESTORED.discard(path)
    # A cookie lasts a quarter of an hour; like a browser, a long run goes on with the one it is given.
    if (case.headers or {}).get("X-CSRF-Token") == SESSION["csrfToken"] and response.status_code != 401:
        for cookie in response.headers.get("set-cookie", []):
            name, _, value = cookie.split(";", 1)[0].partition("=")
            if value:
                SESSION["cookie"] = f"{name}={value}"


def findings_in(body):
    details = body.get("details") or []
    found = details.get("errors", []) if isinstance(details, dict) else details
    return [finding for finding in found if isinstance(finding, dict)]


def body_of(response):
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def refusal(response):
    """The code of a refusal and the rules it names."""
    body = body_of(response)
    return body.get("code", body.get("error")), [finding.get("rule", finding.get("code")) for finding in findings_in(body)]


def refused_paths(response):
    return [finding.get("path", "") for finding in findings_in(body_of(response))]


def is_misfit(schema, value):
    """A list or null where the document says one value, one value where it says a list, or nothing inside a list."""
    if schema.get("type") == "array":
        return not isinstance(value, list) or any(item in (None, "") for item in value)
    return value is None or isinstance(value, list)


def takes_over_misfits(case):
    """Values of earlier answers are tried as parameters, also those that the parameter's schema does not allow."""
    schemas = {
        parameter["name"]: parameter.get("schema", {})
        for parameter in case.operation.definition.raw.get("parameters", [])
        if parameter.get("in") == "query"
    }
    return any(is_misfit(schemas.get(name, {}), value) for name, value in (case.query or {}).items())


def is_right_refusal(case, response):
    """Whether a request that follows the schema is refused for something that no schema can say."""
    code, rules = refusal(response)
    if takes_over_misfits(case):
        return True
    if response.status_code == 400:
        # Every string is schema-valid for a token, but only those that were handed out belong to a list.
        if code in ("INVALID_CONTINUATION_TOKEN", "invalid_cursor"):
            return bool(TOKENS_OF_LISTS & set(case.query or {}))
        # An agent's definition is checked as a whole: placeholders, event types, step ids and how they fit together.
        # A webhook is checked against the event catalog: its types, and the fields that filters read, with their values.
        defines_agent = code == "invalid_agent_config" and case.operation.label in DEFINES_AGENTS
        if defines_agent or case.operation.label in DEFINES_WEBHOOKS:
            found = list(zip(refused_paths(response), rules))
            return bool(found) and not any(rule in SCHEMA_RULES and not FIELD_OF_RULE.search(path) for path, rule in found)
        # Which scopes a key may have follows from its kind, which a change of it does not name.
        if case.operation.label == "PATCH /api/api-keys/{id}" and set(rules) == {"enum"}:
            return all(path.startswith("/scopes/") for path in refused_paths(response))
        return bool(rules) and set(rules) <= BEYOND_SCHEMAS
    # A made-up tag is never the current one.
    return response.status_code == 412 and "If-Match" in (case.headers or {})


def value_of(schema, text):
    """What a text in an address stands for where the document says a number or a boolean."""
    if schema.get("type") in ("integer", "number", "boolean"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def reads_right(parameter, texts):
    """Whether a parameter, as it stands in the address, is what the document says of it."""
    schema = parameter["schema"]
    if len(texts) != 1:
        return False
    if schema.get("type") != "array":
        return jsonschema_rs.is_valid(schema, value_of(schema, texts[0]), validate_formats=True)
    items = [value_of(schema["items"], text) for text in texts[0].split(",")]
    return jsonschema_rs.is_valid(schema, items, validate_formats=True)


def is_right_as_sent(case, response):
    """Whether only values of the query were made wrong, and the address does not show it.

    `false` where a list of texts belongs is written as the list of one text, and an empty object as nothing at all.
    """
    components = case.meta.components.items() if case.meta else []
    wrong = {location for location, component in components if component.mode.is_negative}
    if wrong != {ParameterLocation.QUERY}:
        return False
    declared = {
        parameter["name"]: parameter
        for parameter in case.operation.definition.raw.get("parameters", [])
        if parameter.get("in") == "query"
    }
    address = urllib.parse.urlsplit(response.request.url)
    sent = urllib.parse.parse_qs(address.query, keep_blank_values=True)
    if any(parameter.get("required") and name not in sent for name, parameter in declared.items()):
        return False
    return all(name in declared and reads_right(declared[name], texts) for name, texts in sent.items())


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if isinstance(failure, AcceptedNegativeData):
        return not is_right_as_sent(case, response)
    if isinstance(failure, UseAfterFree):
        path = path_of(response)
        is_back = any(path == back or path.startswith(f"{back}/") for back in RESTORED)
        return not is_back and not ENDED.search(path)
    return not (isinstance(failure, RejectedPositiveData) and is_right_refusal(case, response))


@schemathesis.hook
def before_load_schema(context, raw_schema):
    raw_schema.update(with_records(raw_schema))
    for path, operations in raw_schema["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", []):
                if parameter.get("in") != "path":
                    continue
                # What stands before the parameter says whose id it is, whatever follows.
                owner = path.split("{" + parameter["name"] + "}")[0]
                existing = OWNERS.get(f"/{CAST['mount']}{owner}")
                if existing is not None:
                    parameter["example"] = existing


@schemathesis.hook
def filter_case(context, case):
    """A short run takes a share of the coverage phase, the same one for the same seed."""
    if SHARE == 1 or case.meta is None or case.meta.phase.name.value != "coverage":
        return True
    # None is left out altogether.
    if case.operation.label not in MET:
        MET.add(case.operation.label)
        return True
    headers = {name: value for name, value in (case.headers or {}).items() if name not in CREDENTIAL_HEADERS}
    asked = (case.operation.label, case.path_parameters, case.query, headers, case.body)
    # Every run has keys and records of its own; which cases it takes must not follow from their ids.
    text = RECORD_ID.sub(r"\1", f"{SEED} {asked!r}")
    return zlib.crc32(text.encode("utf-8", "replace")) % SHARE == 0


@schemathesis.check
def no_limit_is_met(ctx, response, case):
    """The limiter has tests of its own; a request it refuses here tests nothing."""
    if response.status_code == 429 and case.operation.label not in GUARDED:
        raise AssertionError(f"{case.operation.label} met a limit: {response.text[:300]}")

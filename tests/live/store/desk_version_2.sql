-- The tables of version 2.
CREATE TABLE accounts (
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    password TEXT,
    made_at BIGINT NOT NULL,
    seen_at BIGINT,
    disabled_at BIGINT,
    PRIMARY KEY (name)
);
CREATE TABLE payments (
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    card TEXT NOT NULL,
    terminal TEXT NOT NULL,
    paid_at BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    body TEXT NOT NULL,
    features BLOB NOT NULL,
    decision TEXT NOT NULL,
    matched TEXT NOT NULL,
    rule_set BIGINT NOT NULL,
    PRIMARY KEY (position),
    UNIQUE (id)
);
CREATE INDEX payments_of_card ON payments (card, paid_at);
CREATE TABLE scores (
    position INTEGER NOT NULL,
    suspicion DOUBLE NOT NULL,
    probability DOUBLE NOT NULL,
    matched TEXT NOT NULL,
    rule_set BIGINT NOT NULL,
    model TEXT NOT NULL,
    scored_at BIGINT NOT NULL,
    PRIMARY KEY (position)
);
CREATE TABLE labels (
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    card TEXT,
    is_fraud BOOLEAN NOT NULL,
    known_at BIGINT NOT NULL,
    source TEXT NOT NULL,
    who TEXT NOT NULL,
    after_position BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (number)
);
CREATE INDEX ix_labels_card ON labels (card);
CREATE INDEX ix_labels_after_position ON labels (after_position);
CREATE INDEX ix_labels_id ON labels (id);
CREATE TABLE alerts (
    number INTEGER NOT NULL,
    card TEXT NOT NULL,
    state TEXT NOT NULL,
    opened_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    probability DOUBLE NOT NULL,
    suspicion DOUBLE NOT NULL,
    position BIGINT NOT NULL,
    reasons TEXT NOT NULL,
    less_suspicious TEXT NOT NULL,
    rules TEXT NOT NULL,
    model TEXT NOT NULL,
    reason_features TEXT NOT NULL,
    expected DOUBLE NOT NULL,
    rank_value DOUBLE NOT NULL,
    n_payments INTEGER NOT NULL,
    amount DOUBLE NOT NULL,
    last_at BIGINT NOT NULL,
    held_by TEXT,
    lease_until BIGINT,
    hidden_until BIGINT,
    escalated_by TEXT,
    PRIMARY KEY (number)
);
CREATE INDEX alerts_by_change ON alerts (state, updated_at);
CREATE INDEX alerts_away ON alerts (lease_until) WHERE (state || '') IN ('taken', 'snoozed');
CREATE INDEX alerts_of_card ON alerts (card);
CREATE INDEX alerts_in_order ON alerts (state, probability, opened_at);
CREATE UNIQUE INDEX one_open_alert_per_card ON alerts (card) WHERE state != 'closed';
CREATE INDEX alerts_in_queue ON alerts (rank_value DESC, number) WHERE (state || '') IN ('open', 'taken');
CREATE INDEX alerts_by_age ON alerts (opened_at, state, rules, probability);
CREATE TABLE audit (
    number INTEGER NOT NULL,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    details TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (number)
);
CREATE INDEX audit_of_rules ON audit (subject, number) WHERE substr(subject, 1, 5) = 'rule:';
CREATE TABLE api_keys (
    hash TEXT NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    made_at BIGINT NOT NULL,
    used_at BIGINT,
    revoked_at BIGINT,
    PRIMARY KEY (hash),
    UNIQUE (name)
);
CREATE TABLE checks (
    number INTEGER NOT NULL,
    alert BIGINT NOT NULL,
    who TEXT NOT NULL,
    verdict TEXT NOT NULL,
    positions TEXT NOT NULL,
    reason_code TEXT NOT NULL,
    note TEXT NOT NULL,
    state TEXT NOT NULL,
    at BIGINT NOT NULL,
    day INTEGER NOT NULL,
    decided_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    probability DOUBLE NOT NULL,
    is_random BOOLEAN NOT NULL,
    seen BIGINT NOT NULL,
    corrects BIGINT,
    approver TEXT,
    PRIMARY KEY (number)
);
CREATE INDEX checks_of_person ON checks (who, day);
CREATE INDEX ix_checks_alert ON checks (alert);
CREATE INDEX checks_in_state ON checks (state, due_at);
CREATE INDEX checks_of_day ON checks (day);
CREATE TABLE check_days (
    day INTEGER NOT NULL,
    n_checks INTEGER NOT NULL,
    n_found INTEGER NOT NULL,
    expected DOUBLE NOT NULL,
    variance DOUBLE NOT NULL,
    n_random INTEGER NOT NULL,
    n_random_found INTEGER NOT NULL,
    PRIMARY KEY (day)
);
CREATE TABLE log_hours (
    hour INTEGER NOT NULL,
    first_position BIGINT NOT NULL,
    n_payments BIGINT NOT NULL,
    n_blocked BIGINT NOT NULL,
    n_labelled BIGINT NOT NULL,
    PRIMARY KEY (hour)
);
CREATE TABLE rule_matches (
    position BIGINT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    is_live BOOLEAN NOT NULL,
    at BIGINT NOT NULL,
    card TEXT NOT NULL,
    is_fraud BOOLEAN,
    PRIMARY KEY (position, name, version)
)
 WITHOUT ROWID
;
CREATE TABLE rule_days (
    day INTEGER NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    n_fraud INTEGER NOT NULL,
    n_genuine INTEGER NOT NULL,
    n_unknown INTEGER NOT NULL,
    PRIMARY KEY (day, name, version)
)
 WITHOUT ROWID
;
CREATE TABLE known_frauds (
    position INTEGER NOT NULL,
    at BIGINT NOT NULL,
    card TEXT NOT NULL,
    known_at BIGINT NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (position)
);
CREATE TABLE digest_places (
    position BIGINT NOT NULL,
    label BIGINT NOT NULL
);
CREATE TABLE fraud_terminals (
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    card TEXT NOT NULL,
    terminal TEXT NOT NULL,
    paid_at BIGINT NOT NULL,
    PRIMARY KEY (position)
);
CREATE INDEX frauds_at_terminal ON fraud_terminals (terminal, paid_at);
CREATE TABLE links (
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (name),
    UNIQUE (hash)
);
CREATE TABLE notes (
    number INTEGER NOT NULL,
    alert BIGINT NOT NULL,
    who TEXT NOT NULL,
    at BIGINT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (number)
);
CREATE INDEX ix_notes_alert ON notes (alert);
CREATE TABLE outbox (
    number INTEGER NOT NULL,
    alert BIGINT NOT NULL,
    who TEXT NOT NULL,
    at BIGINT NOT NULL,
    "key" TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    n_tries INTEGER NOT NULL,
    next_at BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    PRIMARY KEY (number),
    UNIQUE ("key")
);
CREATE INDEX ix_outbox_alert ON outbox (alert);
CREATE INDEX outbox_in_state ON outbox (state, next_at);
CREATE TABLE purges (
    number INTEGER NOT NULL,
    after_position BIGINT NOT NULL,
    after_label BIGINT NOT NULL,
    "before" BIGINT NOT NULL,
    forget BIGINT NOT NULL,
    PRIMARY KEY (number)
);
CREATE TABLE random_draws (
    day INTEGER NOT NULL,
    at BIGINT NOT NULL,
    since BIGINT NOT NULL,
    n_cards INTEGER NOT NULL,
    n_drawn INTEGER NOT NULL,
    seed TEXT NOT NULL,
    PRIMARY KEY (day)
);
CREATE TABLE random_checks (
    alert BIGINT NOT NULL,
    day INTEGER NOT NULL,
    propensity DOUBLE NOT NULL,
    PRIMARY KEY (alert)
);
CREATE INDEX ix_random_checks_day ON random_checks (day);
CREATE TABLE rule_versions (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    description TEXT NOT NULL,
    author TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    approver TEXT,
    PRIMARY KEY (name, version)
);
CREATE TABLE snoozes (
    number INTEGER NOT NULL,
    card TEXT NOT NULL,
    rule TEXT,
    reason TEXT NOT NULL,
    at BIGINT NOT NULL,
    until BIGINT NOT NULL,
    who TEXT NOT NULL,
    PRIMARY KEY (number)
);
CREATE INDEX ix_snoozes_until ON snoozes (until);
CREATE TABLE rule_sets (
    number INTEGER NOT NULL,
    at BIGINT NOT NULL,
    members TEXT NOT NULL,
    last_snooze INTEGER NOT NULL,
    PRIMARY KEY (number)
);
CREATE TABLE rule_trials (
    number INTEGER NOT NULL,
    task TEXT NOT NULL,
    rule TEXT,
    text TEXT NOT NULL,
    kind TEXT NOT NULL,
    options TEXT NOT NULL,
    who TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    finished_at BIGINT,
    result TEXT,
    error TEXT,
    PRIMARY KEY (number)
);
CREATE INDEX ix_rule_trials_rule ON rule_trials (rule);
CREATE TABLE sessions (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL,
    name TEXT NOT NULL,
    token TEXT NOT NULL,
    made_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    address TEXT NOT NULL,
    UNIQUE (hash)
);
CREATE INDEX ix_sessions_name ON sessions (name);
CREATE TABLE unmasks (
    who TEXT NOT NULL,
    card TEXT NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (who, card)
);
CREATE TABLE alert_payments (
    alert BIGINT NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (alert, position),
    FOREIGN KEY(alert) REFERENCES alerts (number)
);
PRAGMA user_version = 2;

-- limit_statement_time: limits each later statement of this transaction to $1 (in milliseconds, as text).
select set_config('statement_timeout', $1, true)

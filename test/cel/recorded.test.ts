/** Expressions with constants of every type in every place, and what a kube-apiserver 1.36 says of
 *  them as expressions of policies: a problem where it compiles them, an error or a value where it
 *  runs them. */

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { ruleLanguage } from '../../lib/writes/custom/cel/language.ts'

interface Row {
  readonly source: string
  readonly problem?: string
  readonly error?: string
  readonly value?: boolean | string
}

const file = new URL('../../../test/cel/recorded.jsonl.gz', import.meta.url)
const rows = gunzipSync(readFileSync(file))
  .toString()
  .trim()
  .split('\n')
  .map(line => JSON.parse(line) as Row)

function outcomeOf(source: string): Row {
  const { expression, problems } = ruleLanguage().compile(source, new Map())
  if (expression === undefined) return { source, problem: problems }
  const { constantError } = expression
  if (constantError !== undefined) {
    return { source, problem: `program instantiation failed: ${constantError}` }
  }
  const { error, value } = expression.run([], 10_000_000)
  return error === undefined ? { source, value: value as string } : { source, error }
}

t.test('expressions of all types say what those of a kube-apiserver say', async t => {
  const wrong = rows.flatMap(row => {
    const outcome = outcomeOf(row.source)
    return JSON.stringify(outcome) === JSON.stringify(row) ? [] : [{ wanted: row, got: outcome }]
  })
  t.strictSame(wrong, [])
})

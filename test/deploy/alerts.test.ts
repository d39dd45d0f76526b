/** deploy/alerts.yaml, by promtool: every alert fires when it should, and is silent while all is
 *  well. */

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import { findPromtool } from '../support/etcd/real-etcd.ts'

const run = promisify(execFile)
const { binary, skip } = await findPromtool()
const tests = 'test/deploy/alerts-test.yaml'

interface Rule {
  readonly alert: string
  readonly annotations: { readonly runbook_url?: string }
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly Rule[] }[]
}

interface Tests {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string
      readonly exp_alerts: readonly unknown[]
    }[]
  }[]
}

t.test('the alerts fire when they should, and not before', { skip }, async t => {
  const { stdout } = await run(binary, ['check', 'rules', 'deploy/alerts.yaml'])
  t.match(stdout, /SUCCESS: \d+ rules found/)
  t.match((await run(binary, ['test', 'rules', tests])).stdout, /SUCCESS/)
})

t.test('each alert leads to its own section of a document', async t => {
  const { groups } = parse(readFileSync('deploy/alerts.yaml', 'utf8')) as Rules
  const { homepage } = JSON.parse(readFileSync('package.json', 'utf8')) as { homepage: string }
  const [root] = homepage.split('#')
  for (const { alert, annotations } of groups.flatMap(({ rules }) => rules)) {
    const [url = '', anchor] = annotations.runbook_url?.split('#') ?? []
    t.ok(url.startsWith(`${root}/blob/main/`), alert)
    t.equal(anchor, alert.toLowerCase())
    const text = readFileSync(url.slice(`${root}/blob/main/`.length), 'utf8')
    t.match(text, new RegExp(`^### ${alert}$`, 'm'))
  }
})

t.test('each alert has a test in which it fires, and one in which it does not', async t => {
  const { groups } = parse(readFileSync('deploy/alerts.yaml', 'utf8')) as Rules
  const { tests: cases } = parse(readFileSync(tests, 'utf8'), { merge: true }) as Tests
  const expected = cases.flatMap(({ alert_rule_test }) => alert_rule_test)
  for (const { alert } of groups.flatMap(({ rules }) => rules)) {
    const counts = expected.filter(one => one.alertname === alert).map(one => one.exp_alerts.length)
    t.ok(counts.includes(0), `${alert} is silent once`)
    t.ok(Math.max(...counts) > 0, `${alert} fires once`)
  }
})

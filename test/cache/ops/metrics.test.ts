import { X509Certificate } from 'node:crypto'
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { MirrorMetrics } from '../../../lib/cache/mirror/metrics.ts'
import { Metrics } from '../../../lib/cache/ops/metrics.ts'
import { families } from '../../../lib/cache/ops/metrics/apiserver/families.ts'
import { CertificateDates } from '../../../lib/cache/ops/metrics/certificate-dates.ts'
import type { KeyspaceFacts } from '../../../lib/cache/ops/metrics/keyspace-gauges.ts'
import { createReadyFixture, read } from '../../support/mirror/mirror-builders.ts'
import { everyMetric } from '../../support/program/metrics-document.ts'

t.test('a mirror is counted and its keyspaces are shown', async t => {
  const metrics = new Metrics()
  const counts: MirrorMetrics = metrics.mirror
  const { mirror, etcd } = await createReadyFixture({ mirror: { metrics: counts } })
  metrics.watchKeyspaces(() => mirror.statuses())
  metrics.watchWaitingReads(() => mirror.waitingReads)
  etcd.put({ '/r/a/1': 'x', '/r/none': 'y' })
  await read(mirror, 'a')
  const text = await metrics.text()
  for (const line of [
    'watchglass_mirror_events_total{of="keyspace"} 1',
    'watchglass_mirror_events_total{of="none"} 1',
    'watchglass_mirror_reads_total{freshness="consistent",result="mirror"} 1',
    'watchglass_mirror_bootstraps_total{reason="start"} 1',
    'watchglass_mirror_waiting_reads 0',
    'watchglass_keyspace_state{keyspace="a",state="ready"} 1',
    'watchglass_keyspace_state{keyspace="a",state="suspect"} 0',
    'watchglass_keyspace_revision{keyspace="b"} 2',
    'watchglass_keyspace_entries{keyspace="a"} 1',
    'watchglass_keyspace_lag_revisions{keyspace="a"} 0',
  ]) {
    t.ok(text.split('\n').includes(line), line)
  }
  mirror.drop('a')
  t.notMatch(await metrics.text(), /keyspace="a"/, 'a keyspace that is gone is not shown')
})

t.test('every metric has a name with its unit, and a help text that is a sentence', async t => {
  const text = await everyMetric().text()
  const helps = text.split('\n').filter(line => line.startsWith('# HELP'))
  t.ok(helps.length > 20)
  for (const line of helps) t.match(line, /^# HELP \w+ [A-Z0-9].*\.$/)
  for (const { help, type } of families.values()) {
    if (type === 'histogram') t.match(help, /\b(?:seconds|Bytes)\b/, 'a unit')
  }
  const own = (line: string): boolean => !families.has(line.split(' ')[2] ?? '')
  for (const line of helps.filter(own)) t.match(line, /^# HELP watchglass_[a-z_]+ /)
  const types = text.split('\n').filter(line => line.startsWith('# TYPE') && own(line))
  for (const line of types) {
    if (line.endsWith('counter')) t.match(line, /_total counter$/)
    else t.notMatch(line, /_total (?:gauge|histogram)$/)
    if (line.endsWith('histogram')) t.match(line, /_seconds histogram$/)
  }
})

t.test('a renamed metric keeps its former name for a release', async t => {
  const metrics = new Metrics()
  metrics.watchRequestsInFlight(() => 3)
  metrics.access.fault()
  const lines = (await metrics.text()).split('\n')
  for (const line of [
    'watchglass_requests_in_flight 3',
    'watchglass_exchanges 3',
    '# TYPE watchglass_exchanges gauge',
    '# HELP watchglass_exchanges Former name of watchglass_requests_in_flight.',
    'watchglass_internal_errors_total 1',
    'watchglass_faults_total 1',
  ]) {
    t.ok(lines.includes(line), line)
  }
})

t.test('so many keyspaces have metrics, first those that are not ready', async t => {
  const metrics = new Metrics()
  const keyspace = (i: number): KeyspaceFacts => ({
    name: `k${i}`,
    state: i === 7 ? 'suspect' : 'ready',
    revision: 1,
    oldest: 1,
    entries: i,
    lagRevisions: 0,
    lagMs: 0,
  })
  metrics.watchKeyspaces(() => Array.from({ length: 3_000 }, (_, i) => keyspace(i)))
  const text = await metrics.text()
  t.equal(text.match(/^watchglass_keyspace_entries\{/gm)?.length, 500)
  t.match(text, 'watchglass_keyspace_state{keyspace="k7",state="suspect"} 1')
  t.match(text, 'watchglass_keyspace_entries{keyspace="k2999"} 2999')
  t.match(text, 'watchglass_keyspaces_without_metrics 2500')
})

t.test('the end of certificates is read again when their file changes', async t => {
  const path = join(t.testdir(), 'cert.pem')
  const dates = new CertificateDates([
    { option: 'tls-cert', path },
    { option: 'etcd-cert', path: `${path}.none` },
  ])
  const metrics = new Metrics()
  metrics.watchCertificates(dates)
  const endOf = async (): Promise<string | undefined> =>
    /^watchglass_certificate_expiry_timestamp_seconds\{option="tls-cert"\} (\d+)$/m.exec(
      await metrics.text(),
    )?.[1]
  t.equal(await endOf(), undefined)
  const secondsOf = (pem: string): string =>
    String(Date.parse(new X509Certificate(pem).validTo) / 1000)
  for (const name of ['ca.pem', 'renewed.pem']) {
    const pem = readFileSync(`test/support/certs/${name}`, 'utf8')
    writeFileSync(path, pem)
    utimesSync(path, 1, name.length)
    t.equal(await endOf(), secondsOf(pem), name)
  }
  const text = await metrics.text()
  t.notMatch(text, 'watchglass_certificate_expiry_timestamp_seconds{option="etcd-cert"}')
  t.match(text, 'watchglass_certificate_unreadable{option="etcd-cert"} 1')
  t.match(text, 'watchglass_certificate_unreadable{option="tls-cert"} 0')
  writeFileSync(path, 'garbage')
  utimesSync(path, 1, 1)
  t.equal(await endOf(), undefined)
  t.match(await metrics.text(), 'watchglass_certificate_unreadable{option="tls-cert"} 1')
})

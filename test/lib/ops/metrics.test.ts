import t from 'tap'
import type { MirrorMetrics } from '../../../lib/mirror/metrics.ts'
import { Metrics } from '../../../lib/ops/metrics.ts'
import { createReadyFixture, read } from '../../support/mirror/mirror-builders.ts'

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
  const metrics = new Metrics()
  metrics.watchKeyspaces(() => [])
  metrics.watchWaitingReads(() => 0)
  metrics.watchWatches(() => ({ open: 3, lagging: 1, frameBytes: 7 }))
  const helps = (await metrics.text()).split('\n').filter(line => line.startsWith('# HELP'))
  t.ok(helps.length > 20)
  for (const line of helps) t.match(line, /^# HELP watchglass_[a-z_]+ [A-Z0-9].*\.$/)
  const types = (await metrics.text()).split('\n').filter(line => line.startsWith('# TYPE'))
  for (const line of types) {
    if (line.endsWith('counter')) t.match(line, /_total counter$/)
    if (line.endsWith('histogram')) t.match(line, /_seconds histogram$/)
  }
})

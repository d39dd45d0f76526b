import t from 'tap'
import { type LoggedPod, podLog } from '../../../lib/simulator/api/pod-log.ts'
import { PodRules } from '../../../lib/simulator/pod-rules/pod-rules.ts'
import { Query } from '../../../lib/kube/request/request.ts'

const startedAt = '2026-11-24T01:02:03Z'
const pod: LoggedPod = {
  metadata: { name: 'web', annotations: { 'watchglass.local/logs.b': 'one\ntwo\nthree\n' } },
  spec: { containers: [{ name: 'a', image: 'nginx' }, { name: 'b' }, { name: 'late' }] },
  status: {
    containerStatuses: [
      { name: 'a', state: { running: { startedAt } } },
      { name: 'b', state: { running: { startedAt } } },
    ],
  },
}

function logWith(parameters: Readonly<Record<string, string>>, rules?: PodRules): string {
  const query = new Query(new Map(Object.entries(parameters).map(([k, v]) => [k, [v]])))
  return podLog(pod, query, { nowMs: Date.parse(startedAt) + 60_000, rules: rules?.logs })
}

t.test('a container without a log says that it is made up', async t => {
  const text = 'container a (nginx) was started: it is made up, and writes nothing\n'
  t.equal(logWith({ container: 'a' }), text)
  t.equal(logWith({ container: 'a', timestamps: 'true' }), `${startedAt} ${text}`)
})

t.test('an annotation is the log of a container', async t => {
  t.equal(logWith({ container: 'b' }), 'one\ntwo\nthree\n')
  t.equal(logWith({ container: 'b', tailLines: '1' }), 'three\n')
  t.equal(logWith({ container: 'b', tailLines: '0' }), '')
  t.equal(logWith({ container: 'b', limitBytes: '5' }), 'one\nt')
})

t.test('what is not there is refused in the words of kube-apiserver', async t => {
  const said = 'a container name must be specified for pod web, choose one of: [a b late]'
  t.throws(() => logWith({}), { message: said })
  t.throws(() => logWith({ container: 'c' }), { message: 'container c is not valid for pod web' })
  t.throws(() => logWith({ container: 'late' }), {
    message: 'container "late" in pod "web" is waiting to start: ContainerCreating',
  })
  t.throws(() => logWith({ container: 'a', previous: 'true' }), {
    message: 'previous terminated container "a" in pod "web" not found',
  })
})

t.test('older lines are left out where it is said since when', async t => {
  t.match(logWith({ container: 'a', sinceSeconds: '61' }), /was started/)
  t.equal(logWith({ container: 'a', sinceSeconds: '59' }), '')
  t.equal(logWith({ container: 'a', sinceTime: '2026-11-24T01:02:04Z' }), '')
})

t.test('the file of a rule is the log of a container, with the times that are in it', async t => {
  const rules = new PodRules(path =>
    path === 'previous'
      ? 'before\n'
      : '2026-11-24T01:02:30.5Z stdout P par\n2026-11-24T01:02:30.6Z stdout F tial\n2026-11-24T01:03:00Z stderr F late\nplain\n',
  )
  rules.take({
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'ClusterLogs',
    metadata: { name: 'all' },
    spec: { logs: [{ containers: ['a'], logsFile: 'log', previousLogsFile: 'previous' }] },
  })
  t.equal(logWith({ container: 'a' }, rules), 'partial\nlate\nplain\n')
  t.equal(
    logWith({ container: 'a', timestamps: 'true' }, rules),
    `2026-11-24T01:02:30.5Z partial\n2026-11-24T01:03:00Z late\n${startedAt} plain\n`,
  )
  t.equal(logWith({ container: 'a', sinceSeconds: '5' }, rules), 'late\n')
  t.equal(logWith({ container: 'a', previous: 'true' }, rules), 'before\n')
  t.equal(logWith({ container: 'b' }, rules), 'one\ntwo\nthree\n', 'no rule names it')
})

t.test('a pod with rules of its own that leave a container out has no log of it', async t => {
  const rules = new PodRules(() => 'x\n')
  rules.take({
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Logs',
    metadata: { name: 'web' },
    spec: { logs: [{ containers: ['a'], logsFile: 'log' }] },
  })
  t.equal(logWith({ container: 'a' }, rules), 'x\n')
  t.throws(() => logWith({ container: 'b' }, rules), {
    message: 'log target not found for container "b" in pod "/web"',
  })
})

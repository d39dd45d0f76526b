import t from 'tap'
import { type LoggedPod, podLog } from '../../../../lib/cluster/api/pod-log.ts'
import { Query } from '../../../../lib/kube/request/request.ts'

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

function logWith(parameters: Readonly<Record<string, string>>): string {
  return podLog(pod, new Query(new Map(Object.entries(parameters).map(([k, v]) => [k, [v]]))))
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

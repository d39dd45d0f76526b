import t from 'tap'
import { systemClock } from '../../../../lib/cache/ops/system.ts'
import { Applier } from '../../../../lib/cli/commands/test-cluster/apply.ts'
import { type Manifest, manifestsIn } from '../../../../lib/cli/commands/test-cluster/manifests.ts'
import { registryAt } from '../../../support/kube/kube-golden.ts'

t.test('a folder that is not there is refused with its option', t => {
  t.throws(() => manifestsIn(`${t.testdir({})}/none`, '--crds'), {
    code: 'invalid_request',
    message: /^--crds cannot be read/,
  })
  t.end()
})

t.test('a folder without objects, and a file that is no YAML, are refused', t => {
  const none = t.testdir({})
  t.throws(() => manifestsIn(none, '--apply'), { message: /has no file of YAML or JSON/ })
  const broken = t.testdir({ 'a.yaml': 'apiVersion: [' })
  t.throws(() => manifestsIn(broken, '--apply'), { message: /a\.yaml cannot be read: / })
  t.end()
})

t.test('an object without a name is refused with its file', t => {
  const folder = t.testdir({ 'a.yaml': 'apiVersion: v1\nkind: ConfigMap\n' })
  t.throws(() => manifestsIn(folder, '--apply'), {
    code: 'invalid_request',
    message: /a\.yaml holds a ConfigMap without a name/,
  })
  t.end()
})

t.test('an object of a kind that is not served is refused before a request', async t => {
  const registry = registryAt(Infinity)
  const applier = new Applier({
    address: 'https://127.0.0.1:1',
    authority: '',
    token: '',
    registry: () => registry,
    clock: systemClock,
    signal: AbortSignal.abort(),
  })
  const folder = t.testdir({ 'a.yaml': 'apiVersion: a.b/v1\nkind: C\nmetadata: {name: a}\n' })
  const [manifest] = manifestsIn(folder, '--apply') as readonly [Manifest]
  await t.rejects(applier.apply(manifest), {
    code: 'invalid_request',
    message: /a\.yaml: C of a\.b\/v1 is not served: is its definition missing\?/,
  })
})

import t from 'tap'
import { compareVersions } from '../../../lib/kube/resources/versions.ts'

t.test('versions are ordered as Kubernetes documents it', async t => {
  // The example of "Versions in CustomResourceDefinitions", and names that are nearly versions.
  const inOrder = [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v10beta2',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
    'v0',
    'v1beta0',
    'v1gamma1',
    'x',
  ]
  for (const [i, left] of inOrder.entries()) {
    for (const [j, right] of inOrder.entries()) {
      t.equal(Math.sign(compareVersions(left, right)), Math.sign(i - j), `${left} and ${right}`)
    }
  }
})

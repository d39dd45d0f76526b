import t from 'tap'
import { withLastApplied } from '../../../lib/writes/ownership/client-side-apply.ts'
import { textFromTree } from '../../../lib/go/json/tree.ts'
import { treeOf } from '../recorded/load.ts'

const name = 'kubectl.kubernetes.io/last-applied-configuration'
const applied = {
  kind: 'ConfigMap',
  metadata: { annotations: { [name]: 'before', b: 'c' }, name: 'a' },
}

/** The annotations of the object after an apply. */
function annotationsOf(metadata: object): unknown {
  const updated = withLastApplied(treeOf({ metadata }), treeOf(applied))
  return (JSON.parse(textFromTree(updated)) as { metadata: { annotations?: unknown } }).metadata
    .annotations
}

/** lastAppliedUpdater of structured-merge-diff's manager in apimachinery. */
t.test('the annotation of kubectl is kept up to date, if there is one', async t => {
  const annotations = { [name]: '{}', other: 'x' }
  t.strictSame(annotationsOf({ annotations }), {
    other: 'x',
    [name]: '{"kind":"ConfigMap","metadata":{"annotations":{"b":"c"},"name":"a"}}\n',
  })
  t.equal(annotationsOf({}), undefined)
  t.strictSame(annotationsOf({ annotations: { other: 'x' } }), { other: 'x' })
  t.strictSame(annotationsOf({ annotations: { [name]: '' } }), { [name]: '' })
})

t.test('an applied object without annotations is noted as it is', async t => {
  const noted = (object: object): string => {
    const live = treeOf({ metadata: { annotations: { [name]: '{}' } } })
    const updated = JSON.parse(textFromTree(withLastApplied(live, treeOf(object)))) as {
      metadata: { annotations: Record<string, string> }
    }
    return updated.metadata.annotations[name] ?? ''
  }
  t.equal(noted({ kind: 'A', metadata: { name: 'a' } }), '{"kind":"A","metadata":{"name":"a"}}\n')
  t.equal(noted({ kind: 'A' }), '{"kind":"A"}\n')
})

t.test('it goes when the annotations would be too large with it', async t => {
  const large = { [name]: '{}', other: 'x'.repeat(256 * 1024 - 5) }
  t.strictSame(Object.keys(annotationsOf({ annotations: large }) as object), ['other'])
})

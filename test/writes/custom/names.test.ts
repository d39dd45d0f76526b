import t from 'tap'
import {
  areNamesSettled,
  hasCondition,
  withCondition,
  withNames,
} from '../../../lib/writes/custom/definition/conditions.ts'
import { type JsonObject, textFromTree } from '../../../lib/go/json/tree.ts'
import { treeOf } from '../recorded/load.ts'

const wanted = {
  plural: 'widgets',
  singular: 'widget',
  kind: 'Widget',
  listKind: 'WidgetList',
  shortNames: ['wd', 'wg'],
  categories: ['all'],
}
const now = '2026-01-01T00:00:00Z'

interface Named {
  readonly acceptedNames: Readonly<Record<string, unknown>>
  readonly conditions: readonly {
    readonly type: string
    readonly status: string
    readonly reason: string
    readonly message: string
  }[]
}

function namedWith(
  taken: { readonly resources?: readonly string[]; readonly kinds?: readonly string[] },
  status: object = {},
): Named {
  const definition = treeOf({ spec: { names: wanted }, status }) as JsonObject
  const pools = { resources: new Set(taken.resources), kinds: new Set(taken.kinds) }
  return JSON.parse(textFromTree(withNames(definition, pools, now))) as Named
}

t.test('names that nobody has are accepted, and the definition is being installed', async t => {
  const { acceptedNames, conditions } = namedWith({ resources: ['others'], kinds: ['Other'] })
  t.strictSame(acceptedNames, wanted)
  t.strictSame(
    conditions.map(({ type, status, reason, message }) => [type, status, reason, message]),
    [
      ['NamesAccepted', 'True', 'NoConflicts', 'no conflicts found'],
      ['Established', 'False', 'Installing', 'the initial names have been accepted'],
    ],
  )
})

/** calculateNamesAndConditions of apiextensions' naming controller: the last conflict is told,
 *  short names after the singular. */
t.test('a name that another definition has is not accepted, the others are', async t => {
  const rows: readonly (readonly [object, string, string, string])[] = [
    [{ resources: ['widgets'] }, 'plural', 'PluralConflict', '"widgets" is already in use'],
    [{ resources: ['widget'] }, 'singular', 'SingularConflict', '"widget" is already in use'],
    [{ resources: ['wg'] }, 'shortNames', 'ShortNamesConflict', '"wg" is already in use'],
    [
      { resources: ['wd', 'wg'] },
      'shortNames',
      'ShortNamesConflict',
      '["wd" is already in use, "wg" is already in use]',
    ],
    [{ kinds: ['Widget'] }, 'kind', 'KindConflict', '"Widget" is already in use'],
    [{ kinds: ['WidgetList'] }, 'listKind', 'ListKindConflict', '"WidgetList" is already in use'],
  ]
  for (const [taken, name, reason, message] of rows) {
    const { acceptedNames, conditions } = namedWith(taken)
    const { [name]: _, ...others } = wanted as Readonly<Record<string, unknown>>
    t.strictSame(acceptedNames, others, reason)
    t.strictSame(
      conditions.map(one => [one.type, one.status, one.reason, one.message]),
      [
        ['NamesAccepted', 'False', reason, message],
        ['Established', 'False', 'NotAccepted', 'not all names are accepted'],
      ],
    )
  }
  const { conditions } = namedWith({ resources: ['widgets'], kinds: ['Widget', 'WidgetList'] })
  t.match(conditions[0], { reason: 'ListKindConflict' })
  t.match(namedWith({ kinds: ['widgets', 'wd'] }).conditions[0], { status: 'True' })
  t.match(namedWith({ resources: ['Widget'] }).conditions[0], { status: 'True' })
})

t.test('a definition keeps the names that it has, and those that it gives up', async t => {
  const kept = namedWith(
    { resources: ['widgets', 'widget', 'wd', 'wg'], kinds: ['Widget', 'WidgetList'] },
    { acceptedNames: wanted },
  )
  t.strictSame(kept.acceptedNames, wanted)
  t.match(kept.conditions[0], { status: 'True' })
  const definition = treeOf({
    spec: { names: { plural: 'widgets', kind: 'Widget' } },
    status: { acceptedNames: wanted },
  }) as JsonObject
  const status = withNames(definition, { resources: new Set(), kinds: new Set() }, now)
  t.strictSame((JSON.parse(textFromTree(status)) as Named).acceptedNames, {
    plural: 'widgets',
    singular: 'widget',
    kind: 'Widget',
    listKind: 'WidgetList',
  })
})

t.test('one that is established stays so', async t => {
  const established = { type: 'Established', status: 'True', reason: 'r', message: 'm' }
  const { conditions } = namedWith({ kinds: ['Widget'] }, { conditions: [established] })
  t.strictSame(
    conditions.map(({ type, status }) => [type, status]),
    [
      ['Established', 'True'],
      ['NamesAccepted', 'False'],
    ],
  )
})

t.test('the time of a condition changes with its status, and others stay', async t => {
  const before = treeOf({
    conditions: [
      { type: 'A', status: 'True', lastTransitionTime: 'then', reason: 'a', message: '' },
      { type: 'B', status: 'True', lastTransitionTime: 'then', reason: 'b', message: '' },
    ],
  }) as JsonObject
  const after = (type: string, status: 'True' | 'False'): unknown => {
    const changed = withCondition(before, { type, status, reason: 'new', message: 'm' }, now)
    const { conditions } = JSON.parse(textFromTree(changed)) as {
      conditions: readonly Readonly<Record<string, string>>[]
    }
    return conditions.map(one => [one['type'], one['status'], one['lastTransitionTime']])
  }
  const others = ['B', 'True', 'then']
  t.strictSame(after('A', 'True'), [['A', 'True', 'then'], others])
  t.strictSame(after('A', 'False'), [['A', 'False', now], others])
  t.strictSame(after('C', 'True'), [['A', 'True', 'then'], others, ['C', 'True', now]])
  const definition = new Map([['status', before]])
  t.ok(hasCondition(definition, 'A'))
  t.notOk(hasCondition(definition, 'C'))
  const failed = withCondition(before, { type: 'A', status: 'False', reason: '', message: '' }, now)
  t.notOk(hasCondition(new Map([['status', failed]]), 'A'))
})

t.test('names are settled when all are accepted, whatever is empty', async t => {
  const isSettled = (names: object, acceptedNames: object): boolean =>
    areNamesSettled(treeOf({ spec: { names }, status: { acceptedNames } }) as JsonObject)
  t.ok(isSettled(wanted, wanted))
  t.ok(isSettled({ plural: 'a', singular: '', shortNames: [] }, { plural: 'a', categories: null }))
  t.notOk(isSettled({ plural: 'a' }, {}))
  t.notOk(isSettled({ plural: 'a', shortNames: ['b'] }, { plural: 'a' }))
})

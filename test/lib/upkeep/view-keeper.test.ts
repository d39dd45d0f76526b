import { Registry } from '../../../lib/kube/resources/registry.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import t from 'tap'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import { prepareView } from '../../../lib/codec/served/view.ts'
import { ViewKeeper } from '../../../lib/upkeep/view-keeper.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** Each step takes as long as a slice may. */
class CountingClock extends FakeClock {
  yields = 0
  #looks = 0
  override monotonicMs(): number {
    return 4 * this.#looks++
  }
  override yield(): Promise<void> {
    this.yields++
    return super.yield()
  }
}

/** What is prepared already needs no more steps. */
function stepsLeft(apiVersion: string, kind: string): number {
  return [...prepareView(schemaOf(), apiVersion, kind)].length
}

t.test('what shows a kind is made when its first object comes, a step at a time', async t => {
  const clock = new CountingClock()
  const schema = schemaOf()
  const registry = new Registry({ schema, installed: builtInResources(schema, '/registry') })
  const views = new ViewKeeper(
    () => registry,
    () => undefined,
    clock,
  )
  views.applied('/registry/replicasets/' as Key)
  views.applied('/registry/replicasets/' as Key)
  views.reset(keyFromText('/registry/daemonsets/'))
  views.applied('/registry/nothing/' as Key)
  await clock.advance(1)
  t.ok(clock.yields > 5, `${clock.yields} turns for others`)
  t.equal(stepsLeft('apps/v1', 'ReplicaSet'), 0)
  t.not(stepsLeft('v1', 'Node'), 0, 'and no other')
})

/** Comparisons that have no answer are repeated after longer and longer pauses, on a clock that a
 *  test moves. */

import t from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { Evidence } from '../../../lib/proxy/evidence/evidence.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { sayingLogger } from '../../support/saying-logger.ts'

t.test('what waited while the upstream had no answers is compared once it has some', async t => {
  const [resource] = builtInResources(schemaOf())
  const clock = new FakeClock()
  let tries = 0
  const evidence = new Evidence({
    upstreamOf: () => ({ call: () => Promise.reject(new Error('it is not asked')) }),
    clock,
    logger: sayingLogger().logger,
    wanted: () => new Map([[resource!, new Map([['', 'a state']])]]),
    held: () => {
      tries++
      return undefined
    },
    encoderOf: () => new NotExact('no object is encoded'),
    onConcluded: () => {},
  })
  evidence.start()
  await clock.advance(10)
  const forms = tries
  t.ok(forms > 0)
  for (let ms = 0; ms < 600_000; ms += 1_000) await clock.advance(1_000)
  const before = tries
  t.ok(before < 20 * forms, `${before} tries of ${forms} forms in ten minutes`)
  await clock.advance(2_000)
  const paused = tries
  evidence.upstreamIsBack()
  await clock.advance(2_000)
  t.ok(tries >= paused + forms, `${tries - paused} tries of ${forms} forms`)
  evidence.stop()
})

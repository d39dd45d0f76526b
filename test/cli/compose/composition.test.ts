import t from 'tap'
import {
  Composition,
  LateCall,
  orderOf,
  partOf,
  type PartTable,
} from '../../../lib/cli/compose/composition.ts'
import { kubeServiceTable } from '../../../lib/cli/compose/kube-service-table.ts'

interface Kitchen {
  readonly stove: string
  readonly soup: string
  readonly bread: string
  readonly meal: string
}

/** A table that writes down what happens; `failing` is thrown where it happens. */
function kitchen(
  failing?: string,
  released: Promise<void> = Promise.resolve(),
): { readonly log: string[]; readonly table: PartTable<Kitchen, string> } {
  const log: string[] = []
  const part = partOf<Kitchen, string>()
  const note = (what: string): void => {
    log.push(what)
    if (what === failing) throw new Error(what)
  }
  const row = (name: string) => ({
    make: (_: unknown, given: string) => {
      note(`make ${name}`)
      return `${given} ${name}`
    },
    start: () => note(`start ${name}`),
    stop: () => note(`stop ${name}`),
  })
  const table: PartTable<Kitchen, string> = {
    meal: part({ needs: ['soup', 'bread'], ...row('meal') }),
    soup: part({
      needs: ['stove'],
      ...row('soup'),
      make: async ({ stove }) => {
        note('make soup')
        return `soup from the ${stove}`
      },
      async stop() {
        note('stop soup')
        await released
        note('soup has stopped')
      },
    }),
    bread: part({ needs: [], ...row('bread') }),
    stove: part({ needs: [], ...row('stove') }),
  }
  return { log, table }
}

t.test('parts are made and started after those that they need, and stopped before', async t => {
  const { log, table } = kitchen()
  const composition = await Composition.make(table, 'hot')
  t.strictSame(composition.parts, {
    stove: 'hot stove',
    soup: 'soup from the hot stove',
    bread: 'hot bread',
    meal: 'hot meal',
  })
  await composition.start()
  const order = ['stove', 'soup', 'bread', 'meal']
  t.strictSame(log.splice(0), [
    ...order.map(name => `make ${name}`),
    ...order.map(name => `start ${name}`),
  ])
  await composition.stop()
  t.strictSame(log, ['stop meal', 'stop bread', 'stop soup', 'soup has stopped', 'stop stove'])
})

t.test('a part waits for those that need it to stop, and for no other', async t => {
  let release = (): void => {}
  const { log, table } = kitchen(undefined, new Promise(resolve => (release = resolve)))
  const composition = await Composition.make(table, 'hot')
  log.splice(0)
  const stopped = composition.stop()
  t.strictSame(log, ['stop meal', 'stop bread', 'stop soup'], 'all of them in the first turn')
  release()
  await stopped
  t.strictSame(log.slice(3), ['soup has stopped', 'stop stove'])
})

t.test('of a table that cannot be made or started, what was made is stopped', async t => {
  const unmade = kitchen('make bread')
  await t.rejects(Composition.make(unmade.table, 'hot'), { message: 'make bread' })
  t.strictSame(unmade.log.slice(3), ['stop soup', 'soup has stopped', 'stop stove'])
  const unstarted = kitchen('start soup')
  const composition = await Composition.make(unstarted.table, 'hot')
  await t.rejects(composition.start(), { message: 'start soup' })
  t.strictSame(unstarted.log.slice(-2), ['soup has stopped', 'stop stove'])
})

t.test('a part that fails to stop keeps no other from stopping', async t => {
  const { log, table } = kitchen('stop soup')
  const composition = await Composition.make(table, 'hot')
  await t.rejects(composition.stop(), { message: 'stop soup' })
  t.ok(log.includes('stop stove'))
})

t.test('a circle is refused, with the names on it', async t => {
  const { table } = kitchen()
  const round = { ...table, stove: { ...table.stove, needs: ['meal'] as const } }
  t.throws(() => orderOf(round), { message: 'parts need each other: meal > soup > stove > meal' })
})

t.test('a call to a part that is not made yet has an answer', async t => {
  const late = new LateCall((bytes: number) => bytes < 10)
  const { call } = late
  t.equal(call(20), false)
  late.answerWith(bytes => bytes < 100)
  t.equal(call(20), true)
})

t.test('the parts of a service need each other in no circle', async t => {
  const order = orderOf(kubeServiceTable)
  t.equal(order.length, Object.keys(kubeServiceTable).length)
  const at = (name: keyof typeof kubeServiceTable): number => order.indexOf(name)
  // Clients find a handler on the port, and operators see the end of the last of them.
  t.ok(at('clientPort') < at('handler') && at('handler') < at('admin'))
  t.ok(at('admin') < at('etcdApi') && at('admin') < at('clientListener'))
})

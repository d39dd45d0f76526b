import { execFileSync } from 'node:child_process'
import t from 'tap'

/** Bytes of the room for new objects of a process that has made many. */
function roomAfter(first: string, ...flags: string[]): number {
  const module = new URL('../../../lib/commands/new-objects.js', import.meta.url).href
  const script = `
    const { letNewObjectsGrow } = await import('${module}')
    const { getHeapSpaceStatistics } = await import('node:v8')
    ${first}
    const kept = []
    for (let i = 0; i < 300_000; i++) kept.push({ i })
    const space = getHeapSpaceStatistics().find(one => one.space_name === 'new_space')
    console.log(space.space_size)
    process.exit()`
  const all = [...flags, '--input-type=module', '--eval', script]
  return Number(execFileSync(process.execPath, all, { encoding: 'utf8' }))
}

t.test('the room stays small until it is let grow', async t => {
  const [small, grown] = [roomAfter(''), roomAfter('letNewObjectsGrow()')]
  t.ok(small > 0 && small < grown, `${small} and ${grown}`)
})

t.test('whoever starts Node with a size has it', async t => {
  const [small, chosen] = [roomAfter(''), roomAfter('', '--max-semi-space-size=8')]
  t.ok(small > 0 && small < chosen, `${small} and ${chosen}`)
})

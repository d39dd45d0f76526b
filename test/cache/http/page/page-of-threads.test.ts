import t from 'tap'
import { startProgram } from '../../../support/program/program.ts'
import { lacksThreads } from '../../../support/runner/other-node.ts'
import { openWatch } from '../../../support/watch/watch-client.ts'

t.test(
  'with several threads the page has the figures of the process',
  { skip: lacksThreads() },
  async t => {
    const program = await startProgram(t, ['--generate', 'pods=5', '--threads', '2'])
    const read = async (): Promise<string> =>
      (await fetch(`${program.address}/`, { headers: { accept: 'text/html' } })).text()
    const page = await read()
    t.match(page, /2 threads serve clients/)
    const pods =
      'data-metric="watchglass_keyspace_entries{keyspace=&quot;/registry/pods/&quot;}">5<'
    t.ok(page.includes(pods))
    const watches = [1, 2, 3, 4].map(async () =>
      openWatch(program.port, { path: '/api/v1/pods?watch=1', headers: { 'user-agent': 'w/1' } }),
    )
    for (const watch of await Promise.all(watches)) t.teardown(async () => watch.close())
    const client = /class="client">w\/1<\/span><\/th><td[^>]*>pods<\/td><td[^>]*>4</
    // Watches of all threads are shown together.
    while (!client.test(await read())) await new Promise(resolve => setTimeout(resolve, 100))
    t.equal(await program.stop(), 0)
  },
)

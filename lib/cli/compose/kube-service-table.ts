/** The parts of a service, from the code that it loads up to the listener of clients: a row
 *  for each, with what it needs. The order in which parts come and go follows
 *  (`composition.ts`).
 *
 *  A part that an earlier one must hear of says so itself: it answers the `LateCall` of that one,
 *  is told of changes by `following`, or seen in the metrics by `shown`. */

import { assert, type Key, textFromKey } from '@watchglass/base'
import {
  compactRevisionKey,
  createAuthorizer,
  createMirrors,
  defaultHistory,
  defaultLimits,
  faultLogger,
  Followers,
  followTls,
  IndexKeeper,
  KeyspaceChanges,
  KeyspaceSizes,
  keyspacesOf,
  onAnyChange,
  OpenWatches,
  PlainValues,
  ReleasedMemory,
  RuleChanges,
  SegmentKeeper,
  segmentsMaxBytes,
  ServiceHealth,
  SlabKeeper,
  SlowRequests,
  snapshotsIn,
  storeIn,
  systemClock,
  systemRandom,
  WarmUp,
  WatchHubs,
} from '@watchglass/cache'
import type { Segment } from '@watchglass/codec'
import { specialPrefixes } from '@watchglass/kube'
import { type Keyspace, SegmentCache } from '@watchglass/store'
import { LateCall, partOf, type PartTable } from './composition.ts'
import { createServiceHandler } from './handler.ts'
import {
  adminHandlerOf,
  drainMaxMs,
  listenForAdmin,
  listenForClients,
  openEtcdApi,
} from './listeners.ts'
import { bothDroppable, LateViews } from './late-views.ts'
import { createPage, createRecent } from './page.ts'
import {
  clientsOf,
  createApiMirrors,
  createFaults,
  createMemoryKeeper,
  createMetrics,
  createRegistry,
  createUpstreamSide,
  watchAll,
  withoutDropped,
} from './service-parts.ts'
import type { ServiceOptions } from './service-options.ts'
import type { KubeServiceParts } from './kube-service-parts.ts'
import { loadCode } from './loaded-code.ts'

const part = partOf<KubeServiceParts, ServiceOptions>()

export const kubeServiceTable: PartTable<KubeServiceParts, ServiceOptions> = {
  clock: part({ needs: [], make: (_, { clock = systemClock }) => clock }),
  code: part({ needs: [], make: (_, { attached }) => loadCode(attached) }),
  metrics: part({ needs: [], make: (_, options) => createMetrics(options) }),
  onFault: part({
    needs: ['metrics'],
    make: ({ metrics }, { logger }) => faultLogger(metrics.access, logger),
  }),
  clientPort: part({
    // Code first: between this and the handler nothing is waited for, so no client comes too early.
    needs: ['clock', 'code', 'onFault'],
    make: (parts, options) =>
      options.attached?.workers === undefined
        ? (options.listening.port ?? listenForClients(options, parts))
        : undefined,
    stop: clientPort => clientPort?.server.close(),
  }),
  renewals: part({
    needs: ['clientPort', 'clock'],
    make: ({ clientPort, clock }, { listening: { tls }, logger }) =>
      followTls({
        files: tls,
        what: 'certificates of --listen',
        current: clientPort?.tls,
        clock,
        logger,
        onChange: renewed => clientPort?.server.replaceTls(renewed),
      }),
    stop: cancel => cancel(),
  }),
  address: part({
    needs: ['clientPort'],
    make: ({ clientPort }, { listening: { address, listen } }) =>
      address ?? `${listen.host}:${clientPort?.server.port ?? listen.port}`,
  }),
  dropped: part({ needs: [], make: () => new Set<Key>() }),
  served: part({
    needs: ['dropped'],
    make: ({ dropped }, options) => withoutDropped(options, dropped),
  }),
  registry: part({
    needs: ['served', 'address', 'dropped'],
    make: ({ served, ...parts }, options) => createRegistry(options, served, parts),
  }),
  followers: part({ needs: [], make: () => new Followers() }),
  factsChanged: part({ needs: [], make: () => new LateCall<[], void>(() => {}) }),
  isWatched: part({ needs: [], make: () => new LateCall<[Key], boolean>(() => false) }),
  ownMirrors: part({
    needs: ['code', 'clock', 'metrics', 'followers', 'registry', 'factsChanged', 'isWatched'],
    make({ code, clock, metrics, followers, registry, factsChanged, isWatched }, options) {
      const { etcd, served, attached, logger } = options
      if (attached?.copies !== undefined) return undefined
      const common = { clock, sink: followers, onFactsChanged: factsChanged.call }
      const ofApi = createApiMirrors(options, code, {
        ...common,
        metrics,
        registry,
        isWatched: isWatched.call,
      })
      if (ofApi !== undefined) return ofApi
      const { client, checkpoint, others, prefix, limits = defaultLimits } = etcd
      assert(client !== undefined, 'a service mirrors an etcd or an API')
      const { configured = [], excluded, only } = served ?? {}
      const elsewhere = configured.flatMap(({ storage }) => storage?.prefix ?? [])
      const below = only === undefined ? [`${prefix}/`] : [...only, ...specialPrefixes(prefix)]
      return createMirrors(
        { client, checkpoint, others, excluded, prefixes: [...below, ...elsewhere] },
        {
          ...common,
          limits,
          metrics: metrics.mirror,
          random: systemRandom,
          logger,
          keyspaceOf: registry.keyspaceOf,
          plain: new PlainValues(),
          compactRevisionKey,
        },
      )
    },
  }),
  mirrors: part({
    needs: ['ownMirrors', 'clock', 'metrics', 'followers', 'registry', 'isWatched'],
    make({ ownMirrors, isWatched, followers: sink, ...parts }, { attached }) {
      if (ownMirrors !== undefined) return ownMirrors
      assert(attached?.copies !== undefined, 'a service has mirrors, or copies of them')
      return attached.copies.createMirrors({
        clock: parts.clock,
        metrics: parts.metrics.mirror,
        sink,
        history: defaultHistory,
        isWatched: isWatched.call,
        ...attached.source,
      })
    },
    start(mirrors, { registry }) {
      registry.start(mirrors)
      mirrors.start()
    },
    stop: mirrors => mirrors.stop(),
  }),
  workers: part({
    needs: ['code', 'clock', 'metrics', 'registry', 'ownMirrors', 'factsChanged'],
    make({ code, ownMirrors, registry, factsChanged, ...parts }, { etcd, attached = {}, logger }) {
      if (attached.workers === undefined || code.Workers === undefined) return undefined
      if (ownMirrors === undefined) return undefined
      const workers = new code.Workers(attached.workers, {
        ...parts,
        mirrors: ownMirrors,
        keyspaceOf: registry.keyspaceOf,
        clients: clientsOf(etcd),
        logger,
        // What an upstream shows changes how objects are written, in each thread at its own time.
        sharesSegments: attached.upstream === undefined,
      })
      factsChanged.answerWith(() => workers.mirrorSide.factsChanged())
      return workers
    },
  }),
  storeOf: part({
    needs: ['mirrors'],
    make:
      ({ mirrors }) =>
      (keyspace: Key): Keyspace | undefined =>
        storeIn(mirrors, keyspace),
  }),
  segments: part({
    needs: [],
    make(_, { memory }) {
      const released = new ReleasedMemory()
      const maxBytes = memory?.segmentsMaxBytes ?? segmentsMaxBytes
      return new SegmentCache<Segment>(maxBytes, bytes => released.add(bytes))
    },
  }),
  sizes: part({
    needs: ['storeOf', 'clock'],
    make: (parts, { attached }) =>
      new KeyspaceSizes({ ...parts, trees: 1 + (attached?.workers?.count ?? 0) }),
    start: sizes => sizes.start(),
    stop: sizes => sizes.stop(),
  }),
  segmentKeeper: part({
    needs: ['segments', 'sizes', 'clock'],
    make: ({ segments, sizes, clock }) =>
      new SegmentKeeper(segments, clock, () => sizes.totalBytes),
    start: keeper => keeper.start(),
    stop: keeper => keeper.stop(),
  }),
  fits: part({
    needs: [],
    make: (_, { attached }) =>
      new LateCall<[number], boolean>(bytes => attached?.copies?.fits(bytes) ?? true),
  }),
  indexes: part({
    needs: ['storeOf', 'clock', 'fits', 'registry'],
    make({ storeOf, clock, fits, registry }) {
      const indexes = new IndexKeeper({ storeOf, clock, fits: fits.call })
      registry.onRedefined(keyspaces => indexes.forget(keyspaces))
      return indexes
    },
  }),
  views: part({
    needs: ['storeOf', 'segments', 'clock', 'fits', 'registry', 'onFault'],
    make({ fits, registry, ...parts }) {
      const views = new LateViews({ ...parts, fits: fits.call })
      registry.onRedefined(keyspaces => keyspaces.forEach(one => views.reset(one)))
      return views
    },
    stop: views => views.stop(),
  }),
  keptIndexes: part({
    needs: ['indexes', 'views'],
    make: ({ indexes, views }) => bothDroppable(indexes, views),
  }),
  hubs: part({
    needs: ['mirrors', 'clock', 'isWatched'],
    make({ mirrors, clock, isWatched }) {
      const hubs = new WatchHubs(mirrors, clock)
      isWatched.answerWith(keyspace => hubs.isWatched(keyspace))
      return hubs
    },
  }),
  watches: part({
    needs: ['hubs', 'clock', 'metrics', 'registry'],
    make({ hubs, clock, metrics, registry }, { listening, logger }) {
      const { bookmarkIntervalMs, compressesWatches: mayCompress } = listening
      const watches = new OpenWatches({
        source: hubs,
        clock,
        random: systemRandom,
        bookmarkIntervalMs,
        mayCompress,
        reports: metrics.apiServer?.watches,
      })
      registry.onRedefined(keyspaces => {
        const count = watches.endAll(keyspaces)
        const fields = { watches: count, keyspaces: keyspaces.map(textFromKey).join(' ') }
        if (count === 0) return
        logger.info('watches end: their resources are defined in another way', fields)
      })
      return watches
    },
  }),
  authorizer: part({
    needs: ['clock', 'metrics'],
    make: ({ clock, metrics }, { access, attached, logger }) =>
      createAuthorizer(access?.authorization, {
        clock,
        random: systemRandom,
        metrics: metrics.access,
        logger,
        askDesk: attached?.copies?.askDesk,
      }),
    stop: authorizer => authorizer?.stop(),
  }),
  upstreamProxy: part({
    needs: ['code', 'served', 'clock', 'metrics', 'registry', 'mirrors', 'hubs', 'workers'],
    make: ({ code, served, clock, metrics, registry, mirrors, hubs }, options) =>
      createUpstreamSide(code, options, served, {
        clock,
        logger: options.logger,
        metrics: metrics.upstream,
        registry,
        mirrors,
        resumeHeld: keyspace => hubs.resumeHeld(keyspace),
      }),
    start(upstreamProxy, { workers }) {
      upstreamProxy?.start()
      upstreamProxy?.readSwitch.onChange(isOn => workers?.passThrough(isOn))
    },
    stop: upstreamProxy => upstreamProxy?.stop(),
  }),
  memory: part({
    needs: [
      'segments',
      'keptIndexes',
      'workers',
      'sizes',
      'clock',
      'mirrors',
      'storeOf',
      'dropped',
      'watches',
      'registry',
      'fits',
    ],
    make({ keptIndexes, workers, mirrors, dropped, watches, registry, fits, ...parts }, options) {
      const memory = createMemoryKeeper(options, {
        ...parts,
        indexes: keptIndexes,
        ...workers?.kept,
        keyspaces: () => keyspacesOf(mirrors),
        drop(keyspace) {
          dropped.add(keyspace)
          watches.endAll([keyspace])
          registry.mirroredChanged()
        },
      })
      if (memory !== undefined) fits.answerWith(bytes => memory.fits(bytes))
      return memory
    },
    start: memory => memory?.start(),
    stop: memory => memory?.stop(),
  }),
  faults: part({
    needs: ['code', 'clock', 'metrics', 'workers'],
    make: (parts, options) => createFaults(options, parts),
    start: faults => faults?.start(),
    stop: faults => faults?.stop(),
  }),
  writeSide: part({
    needs: ['code', 'clock', 'metrics', 'registry', 'address', 'storeOf', 'hubs', 'faults'],
    make(
      { code, metrics, hubs, faults, ...parts },
      { etcd: { client, prefix }, attached, logger },
    ) {
      const { registry } = parts
      const storage = metrics.apiServer?.storage
      const { writes } = attached ?? {}
      if (writes === undefined || client === undefined) return undefined
      return code.createWriteSide?.(writes, {
        ...parts,
        client,
        prefix,
        logger,
        resumeHeld: keyspace => hubs.resumeHeld(keyspace),
        faults: () => faults?.faults,
        onAsked:
          storage &&
          ((asked, key, tookMs) => storage.asked(asked, registry.keyspaceOf(key), tookMs)),
      })
    },
  }),
  gate: part({
    needs: ['authorizer', 'writeSide'],
    make: ({ authorizer, writeSide }) => authorizer ?? writeSide?.gate,
  }),
  health: part({
    needs: ['clock', 'mirrors', 'upstreamProxy', 'memory', 'workers', 'writeSide'],
    make({ clock, mirrors, upstreamProxy, memory, workers, writeSide }, { attached, logger }) {
      // The main thread tells of its mirrors; those of an API tell of themselves.
      const isTold = attached?.copies === undefined && attached?.source === undefined
      const health = new ServiceHealth(mirrors, {
        own: [...(upstreamProxy?.checks ?? []), memory?.healthCheck, workers?.check],
        others: attached?.copies?.checks,
        // Workers begin when everything is there.
        missing: attached?.copies === undefined ? () => writeSide?.missing() : undefined,
        serverChecks: () => writeSide?.checks,
        told: isTold ? { clock, logger } : undefined,
      })
      void health.ready.then(() => memory?.started())
      return health
    },
  }),
  slabs: part({
    needs: ['mirrors', 'workers', 'clock'],
    make({ mirrors, workers, clock }, { attached, logger }) {
      // The values of a worker are in slabs of the main thread.
      if (attached?.copies !== undefined) return undefined
      return new SlabKeeper({
        clock,
        logger,
        latest: () => snapshotsIn(mirrors),
        onMoved: entry => workers?.mirrorSide.moved(entry),
      })
    },
  }),
  warmUp: part({
    needs: ['registry', 'storeOf', 'clock', 'health', 'onFault'],
    make(
      { registry, health: { ready }, ...parts },
      { attached, served: { hasDrop, hasShards } = {} },
    ) {
      // Workers write the lists, if there are some.
      if (attached?.workers !== undefined) return undefined
      return new WarmUp({ state: () => registry.state, ready, hasDrop, hasShards, ...parts })
    },
  }),
  following: part({
    needs: [
      'followers',
      'authorizer',
      'registry',
      'hubs',
      'metrics',
      'slabs',
      'indexes',
      'views',
      'warmUp',
      'sizes',
      'upstreamProxy',
      'health',
      'writeSide',
      'workers',
    ],
    // In the order in which they are told of a change.
    make({ followers, ...parts }, { etcd: { prefix } }) {
      const { authorizer, registry, metrics, writeSide, workers } = parts
      const storage = metrics.apiServer?.storage
      followers.add(
        authorizer && new RuleChanges(prefix, authorizer),
        onAnyChange(keyspace => registry.changed(keyspace)),
        parts.hubs,
        storage && new KeyspaceChanges(storage),
        parts.slabs,
        parts.indexes,
        parts.views,
        parts.warmUp,
        parts.sizes,
        parts.upstreamProxy,
        parts.health,
        ...(writeSide?.followers ?? []),
        workers?.mirrorSide,
      )
    },
  }),
  slow: part({
    needs: ['clock'],
    make: ({ clock }, { logger }) => new SlowRequests(clock, logger),
  }),
  recent: part({
    needs: ['clock', 'metrics', 'watches', 'mirrors', 'workers'],
    make: parts => createRecent(parts),
    start: recent => recent.start(),
    stop: recent => recent.stop(),
  }),
  allMetrics: part({
    needs: ['metrics', 'workers'],
    make: ({ metrics, workers }, { attached }) => ({
      contentType: metrics.contentType,
      text: attached?.copies?.allMetrics ?? (() => workers?.allMetrics() ?? metrics.text()),
    }),
  }),
  page: part({
    needs: [
      'clock',
      'recent',
      'health',
      'registry',
      'watches',
      'slow',
      'upstreamProxy',
      'allMetrics',
      'faults',
      'workers',
    ],
    make: (parts, options) => createPage(parts, options),
  }),
  shown: part({
    needs: [
      'metrics',
      'registry',
      'segments',
      'sizes',
      'mirrors',
      'watches',
      'upstreamProxy',
      'memory',
      'authorizer',
      'health',
      'workers',
      'writeSide',
    ],
    make: ({ metrics, ...parts }, options) => watchAll(metrics, parts, options),
  }),
  handler: part({
    needs: [
      'clientPort',
      'clock',
      'mirrors',
      'registry',
      'gate',
      'watches',
      'health',
      'upstreamProxy',
      'writeSide',
      'metrics',
      'allMetrics',
      'indexes',
      'views',
      'segments',
      'faults',
      'slow',
      'page',
      'onFault',
    ],
    make: ({ clientPort, ...parts }, options) => {
      const handler = createServiceHandler(options, parts)
      clientPort?.serve(handler)
      return handler
    },
  }),
  adminHandler: part({
    needs: ['registry', 'health', 'allMetrics', 'upstreamProxy', 'page', 'faults', 'onFault'],
    make: ({ registry, allMetrics, ...parts }, { operating = {} }) =>
      adminHandlerOf(operating, {
        ...parts,
        schema: registry.state.registry.schema,
        metrics: allMetrics,
      }),
  }),
  admin: part({
    // The handler first: the port of clients is open, and this waits for another one.
    needs: ['handler', 'adminHandler', 'clock', 'onFault'],
    make: ({ adminHandler, clock, onFault }, { operating, logger }) =>
      listenForAdmin(operating?.adminListen, adminHandler, { clock, logger, onFault }),
    stop: admin => admin?.close(),
  }),
  etcdApi: part({
    // Operators look on until the last call is over.
    needs: ['admin', 'clock', 'metrics', 'ownMirrors', 'followers', 'registry'],
    make: (parts, options) => openEtcdApi(options, parts),
    start: etcdApi => etcdApi?.start?.(),
    stop: etcdApi => etcdApi?.stop(drainMaxMs),
  }),
  controllers: part({
    // A row of its own: another process may go on in their place while the last requests end here.
    needs: ['writeSide', 'health'],
    make: () => {},
    async start(_, { writeSide, health }) {
      await writeSide?.start()
      void health.ready.then(() => writeSide?.mirrored())
    },
    stop: (_, { writeSide }) => writeSide?.stop(),
  }),
  clientListener: part({
    // Operators look on until the last request is over.
    needs: [
      'handler',
      'clientPort',
      'workers',
      'admin',
      'metrics',
      'watches',
      'clock',
      'health',
      'authorizer',
      'faults',
    ],
    make({ clientPort, workers, metrics }) {
      const listener = workers ?? clientPort?.server
      assert(listener !== undefined, 'clients come in here or in workers')
      metrics.watchRequestsInFlight(() => listener.requestsInFlight)
      return listener
    },
    start: (_, { workers, health, authorizer, faults }, { listening: { listen } }) =>
      workers?.start(listen, { checks: () => health.own, desk: authorizer?.desk, faults }),
    async stop(listener, { watches, clock }) {
      const cancel = clock.setTimer(drainMaxMs, () => listener.close())
      const drained = listener.drain()
      // An open watch would last as long as its client.
      watches.stop()
      await drained
      cancel()
    },
  }),
}

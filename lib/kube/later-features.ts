/** Features of later versions that clients may ask for: servers without one ignore what asks for
 *  it.
 *  - `shards`: the parameter shardSelector (KEP-5866)
 *  - `drop`: the parameter of that name in the Accept header (KEP-5958)
 *  - `zippedStreams`: gzip in the Accept-Encoding header of a streaming list (KEP-3157) */

export type LaterFeature = 'shards' | 'drop' | 'zippedStreams'

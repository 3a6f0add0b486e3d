import { loadFengari } from '../../src/script/fengari/engine.ts'
import { describeLuaEngine } from '../contract/lua-engine.ts'

const shared = loadFengari()
describeLuaEngine('fengari', async () => shared)

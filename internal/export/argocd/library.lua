local function field(t, k)
  local v = t[k]
  if v == nil then error("no field " .. tostring(k)) end
  return v
end
local function optional(t, k)
  if type(t) ~= "table" then return nil end
  return t[k]
end
local function has(f)
  local ok, v = pcall(f)
  return ok and v ~= nil
end
local function any(...)
  local failed = false
  for _, f in ipairs({...}) do
    local ok, v = pcall(f)
    if ok and v == true then return true end
    failed = failed or not ok
  end
  if failed then error("undecided") end
  return false
end
local function all(...)
  local failed = false
  for _, f in ipairs({...}) do
    local ok, v = pcall(f)
    if ok and v == false then return false end
    failed = failed or not ok
  end
  if failed then error("undecided") end
  return true
end
local function members(t)
  if #t > 0 then return t end
  local keys = {}
  for k in pairs(t) do table.insert(keys, k) end
  return keys
end
local function exists(list, f)
  local failed = false
  for _, v in ipairs(members(list)) do
    local ok, held = pcall(f, v)
    if ok and held == true then return true end
    failed = failed or not ok
  end
  if failed then error("undecided") end
  return false
end
local function every(list, f)
  local failed = false
  for _, v in ipairs(members(list)) do
    local ok, held = pcall(f, v)
    if ok and held == false then return false end
    failed = failed or not ok
  end
  if failed then error("undecided") end
  return true
end
local function within(v, list)
  for _, w in ipairs(members(list)) do if v == w then return true end end
  return false
end
local function size(v)
  if type(v) == "string" then return #v end
  local n = 0
  for _ in pairs(v) do n = n + 1 end
  return n
end
local function otherwise(v, other)
  if v == nil then return other end
  return v
end
local function choose(condition, one, other)
  if condition == true then return one() end
  if condition == false then return other() end
  error("undecided")
end
local function lowerAscii(text)
  return text:lower()
end
local function upperAscii(text)
  return text:upper()
end
local function holds(f)
  local ok, v = pcall(f)
  return ok and v == true
end
